from unrolled.commands.average import main

if __name__ == "__main__":
    main()
