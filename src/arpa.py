from unrolled.commands.arpa import main

if __name__ == "__main__":
    main()
