from unrolled.commands.sample import main

if __name__ == "__main__":
    main()
